import { Lexer, type Token, Tokenizer, type Tokens } from "marked";

export type { Token, Tokens };

/**
 * Markdown without what leads or loads: links, images, addresses and HTML are the text that they are written as. A
 * method that returns nothing leaves its text to the others.
 */
class TextTokenizer extends Tokenizer {
  override html(): undefined {}
  override tag(): undefined {}
  override link(): undefined {}
  override reflink(): undefined {}
  override autolink(): undefined {}
  override url(): undefined {}
  override def(): undefined {}
}

/** Return the blocks of a text. One that is nested beyond what can be read is a single paragraph. */
export function blocksOf(text: string): Token[] {
  try {
    return [...new Lexer({ gfm: true, tokenizer: new TextTokenizer() }).lex(text)];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const inline: Tokens.Text = { type: "text", raw: text, text };
    return [{ type: "paragraph", raw: text, text, tokens: [inline] } satisfies Tokens.Paragraph];
  }
}

/** So many blocks at the end of a text may change with what follows: `---` is a rule, with words behind it text. */
const UNSETTLED = 2;

/**
 * The blocks of a text that grows. Blocks that what follows cannot change are read once and stay the same objects, so
 * that a long answer costs no more a piece than a short one.
 */
export class GrowingMarkdown {
  private settled: Token[] = [];
  private done = "";

  blocks(text: string): Token[] {
    if (!text.startsWith(this.done)) {
      this.settled = [];
      this.done = "";
    }
    const fresh = blocksOf(text.slice(this.done.length));
    const all = [...this.settled, ...fresh];
    const contents = fresh.flatMap((token, index) => (token.type === "space" ? [] : [index]));
    const settling = fresh.slice(0, contents.at(-UNSETTLED) ?? 0);
    if (contents.length > UNSETTLED) {
      this.settled = [...this.settled, ...settling];
      this.done += settling.map((token) => token.raw).join("");
    }
    return all;
  }
}
