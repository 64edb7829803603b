import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { visible } from "../common/visible";
import { CitedText, OpenedAt } from "./cited";
import type { Citing } from "./citing";
import { GrowingMarkdown, type Token, type Tokens } from "./markdown";
import { texts } from "./messages";

/** Beyond so many levels a part is shown as it is written. */
const DEEPEST = 8;

/** The text of an answer, as Markdown. None of it becomes markup by itself: each token is a node made here. */
export function AnswerText({ text, citing }: { text: string; citing: Citing }) {
  const growing = useMemo(() => new GrowingMarkdown(), []);
  const blocks = useMemo(() => growing.blocks(text), [growing, text]);
  return (
    <div class="answer-text" dir="auto">
      {blocks.map((token, index) => {
        const at = `${index}`;
        return <TopBlock key={at} token={token} at={at} citing={citing} />;
      })}
    </div>
  );
}

/** A block is made again only where it, its citations, or what is open in it changes. */
function TopBlock({ token, at, citing }: { token: Token; at: string; citing: Citing }) {
  const { known, passages, opened } = citing;
  const within = opened !== null && opened.at.split(".", 1)[0] === at ? opened : null;
  const language = texts();
  // the rest of `citing` is the same for the life of an answer
  return useMemo(
    () => <Block token={token} at={at} citing={citing} depth={0} />,
    [token, at, known, passages, within, language],
  );
}

type Part = { at: string; citing: Citing; depth: number };

function Block({ token, at, citing, depth }: Part & { token: Token }) {
  const below = { citing, depth: depth + 1 };
  if (depth > DEEPEST) return <p>{visible(token.raw)}</p>;
  switch (token.type) {
    case "space":
      return null;
    case "hr":
      return <hr />;
    case "code":
      return (
        <pre>
          <code>{visible((token as Tokens.Code).text)}</code>
        </pre>
      );
    case "heading":
      return (
        <Leaf at={at} citing={citing}>
          <p class="answer-heading">
            <Inline tokens={(token as Tokens.Heading).tokens} at={at} {...below} />
          </p>
        </Leaf>
      );
    case "blockquote":
      return (
        <blockquote>
          <Blocks tokens={(token as Tokens.Blockquote).tokens} at={at} {...below} />
        </blockquote>
      );
    case "list":
      return <List list={token as Tokens.List} at={at} {...below} />;
    case "table":
      return <Table table={token as Tokens.Table} at={at} {...below} />;
    case "checkbox":
      return <>{(token as Tokens.Checkbox).checked ? "☑ " : "☐ "}</>;
    case "text":
      return (
        <Leaf at={at} citing={citing}>
          <span dir="auto">
            <Inline tokens={(token as Tokens.Text).tokens ?? [token]} at={at} {...below} />
          </span>
        </Leaf>
      );
    default:
      return (
        <Leaf at={at} citing={citing}>
          <p dir="auto">
            <Inline tokens={(token as Tokens.Paragraph).tokens ?? [token]} at={at} {...below} />
          </p>
        </Leaf>
      );
  }
}

function Blocks({ tokens, at, citing, depth }: Part & { tokens: readonly Token[] }) {
  return (
    <>
      {tokens.map((token, index) => {
        const inner = `${at}.${index}`;
        return <Block key={inner} token={token} at={inner} citing={citing} depth={depth} />;
      })}
    </>
  );
}

/** A part that holds words; the passage of a citation opens right below it. */
function Leaf({ at, citing, children }: { at: string; citing: Citing; children: ComponentChildren }) {
  return (
    <>
      {children}
      <OpenedAt at={at} citing={citing} />
    </>
  );
}

function List({ list, at, citing, depth }: Part & { list: Tokens.List }) {
  const items = list.items.map((item, index) => {
    const inner = `${at}.${index}`;
    return (
      <li key={inner}>
        <Blocks tokens={item.tokens} at={inner} citing={citing} depth={depth} />
      </li>
    );
  });
  return list.ordered ? <ol start={list.start === "" ? 1 : list.start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table, at, citing, depth }: Part & { table: Tokens.Table }) {
  const cells = (row: readonly Tokens.TableCell[], Cell: "th" | "td") =>
    row.map((cell, index) => {
      const key = `${index}`;
      return (
        <Cell key={key} dir="auto" {...(Cell === "th" ? { scope: "col" } : {})}>
          <Inline tokens={cell.tokens} at={at} citing={citing} depth={depth} />
        </Cell>
      );
    });
  return (
    <Leaf at={at} citing={citing}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section class="answer-table" tabIndex={0} aria-label={texts().table}>
        <table>
          <thead>
            <tr>{cells(table.header, "th")}</tr>
          </thead>
          <tbody>
            {table.rows.map((row, index) => {
              const key = `${index}`;
              return <tr key={key}>{cells(row, "td")}</tr>;
            })}
          </tbody>
        </table>
      </section>
    </Leaf>
  );
}

function Inline({ tokens, at, citing, depth }: Part & { tokens: readonly Token[] }) {
  return (
    <>
      {tokens.map((token, index) => {
        const key = `${index}`;
        return <Phrase key={key} token={token} at={at} citing={citing} depth={depth + 1} />;
      })}
    </>
  );
}

function Phrase({ token, at, citing, depth }: Part & { token: Token }) {
  if (depth > 2 * DEEPEST) return <>{visible(token.raw)}</>;
  const inner = () => <Inline tokens={(token as Tokens.Strong).tokens} at={at} citing={citing} depth={depth} />;
  switch (token.type) {
    case "strong":
      return <strong>{inner()}</strong>;
    case "em":
      return <em>{inner()}</em>;
    case "del":
      return <del>{inner()}</del>;
    case "br":
      return <br />;
    case "codespan":
      return <code>{visible((token as Tokens.Codespan).text)}</code>;
    case "checkbox":
      return <>{(token as Tokens.Checkbox).checked ? "☑ " : "☐ "}</>;
    case "text":
    case "escape":
      return <CitedText text={(token as Tokens.Text).text} at={at} citing={citing} />;
    default:
      return <CitedText text={token.raw} at={at} citing={citing} />;
  }
}
