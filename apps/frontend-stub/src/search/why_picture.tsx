import type { Result, SearchResults } from "../client/api";
import { reasonText } from "../common/reasons";
import { sourceName } from "../common/sources";
import { correctedWords, isByRank, rankConstantOf, type SourceBar, type StepMove, type Why, whyOf } from "./why";
import { whyTexts } from "./why_messages";
import "./why.css";

type Texts = ReturnType<typeof whyTexts>;
type Explanation = SearchResults["explanation"];

/** Why a result ranks where it does: a bar a source, then what each step did to its place. */
export function WhyPicture({ result, explanation }: { result: Result; explanation: Explanation }) {
  const say = whyTexts();
  const why = whyOf(result, explanation);
  return (
    <section class="why" aria-label={say.title(result.rank)}>
      <Sources why={why} explanation={explanation} />
      <Lexemes why={why} explanation={explanation} />
      <h3>{say.steps}</h3>
      {why.moves.length === 0 ? (
        <p class="quiet">{say.noSteps}</p>
      ) : (
        <ol class="why-steps">
          {why.moves.map((move) => (
            <li key={move.step}>
              <b>{known(say, move.step)}</b> <Move move={move} /> <span class="quiet">{noteOf(move, say)}</span>
            </li>
          ))}
        </ol>
      )}
      <p class="why-final">{say.final(why.rank, why.score)}</p>
    </section>
  );
}

function Sources({ why, explanation }: { why: Why; explanation: Explanation }) {
  const say = whyTexts();
  const constant = rankConstantOf(explanation);
  const byRank = isByRank(why, explanation) && constant !== null;
  return (
    <>
      <h3>{say.sources}</h3>
      <table class="why-sources stacked">
        <thead>
          <tr>
            <th scope="col">{say.source}</th>
            <th scope="col">{say.rank}</th>
            <th scope="col">{say.score}</th>
            <th scope="col">{say.weight}</th>
            <th scope="col">{say.contribution}</th>
          </tr>
        </thead>
        <tbody>
          {why.bars.map((bar, index) => (
            <Bar key={bar.source} bar={bar} colour={(index % 5) + 1} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" colSpan={4}>
              {say.sum}
            </th>
            <td>{say.points(why.sum)}</td>
          </tr>
        </tfoot>
      </table>
      <p class="quiet small">{byRank ? say.byRank(constant) : why.bars.length > 1 ? say.byScore : say.own}</p>
    </>
  );
}

function Bar({ bar, colour }: { bar: SourceBar; colour: number }) {
  const say = whyTexts();
  return (
    <tr>
      <th scope="row">{sourceName(bar.source)}</th>
      <td data-label={say.rank}>{bar.rank}</td>
      <td data-label={say.score}>
        {say.points(bar.score)} <span class="quiet small">{known(say, bar.scoreType)}</span>
      </td>
      <td data-label={say.weight}>{say.points(bar.weight)}</td>
      <td data-label={say.contribution} class="why-contribution">
        <svg class={`why-bar colour-${colour}`} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
          <rect width={100 * bar.share} height="10" rx="1" />
        </svg>
        <span>{say.points(bar.contribution)}</span>
      </td>
    </tr>
  );
}

function Lexemes({ why, explanation }: { why: Why; explanation: Explanation }) {
  const say = whyTexts();
  const counted = why.bars.flatMap((bar) => bar.lexemes.map((each) => ({ ...each, source: bar.source })));
  const corrected = correctedWords(explanation);
  if (counted.length + corrected.length === 0) return null;
  return (
    <>
      <h3>{say.lexemes}</h3>
      <ul class="row why-lexemes">
        {counted.map(({ source, lexeme, times, contribution }) => (
          <li key={`${source}-${lexeme}`} class="chip">
            <bdi>{lexeme}</bdi> · {say.times(times)} · {say.adds(contribution)}
          </li>
        ))}
      </ul>
      {corrected.map(({ typed, searched }) => (
        <p key={typed} class="small">
          {say.corrected(typed, searched)}
        </p>
      ))}
    </>
  );
}

function Move({ move: { before, after } }: { move: StepMove }) {
  const say = whyTexts();
  if (before === null || after === null) return null;
  const [kind, text] =
    before === after
      ? (["same", say.same] as const)
      : before > after
        ? (["up", `${say.up(before - after)}, ${say.from(before, after)}`] as const)
        : (["down", `${say.down(after - before)}, ${say.from(before, after)}`] as const);
  const arrow = { same: "=", up: "▲", down: "▼" }[kind];
  return (
    <span class={`why-move ${kind}`}>
      <span aria-hidden="true">{arrow}</span> {text}.
    </span>
  );
}

/** Say what a step did to this passage, from its note. Of a step of another kind the place alone is told. */
function noteOf({ step, note, skipped }: StepMove, say: Texts): string {
  if (skipped !== null) return say.skipped(reasonText(skipped));
  const [factor, removed, score, similarity] = ["factor", "removed", "rerank_score", "similarity"].map(
    (name) => note[name],
  );
  switch (step) {
    case "temporal_decay":
      return typeof note.age_days === "number" && typeof factor === "number"
        ? say.aged(note.age_days, factor)
        : say.ageless;
    case "deduplication":
      return typeof removed === "number" ? say.removed(removed) : say.alone;
    case "visibility":
      return say.readable;
    case "rerank":
      return typeof score === "number" ? say.reranked(score, Number(note.previous_score)) : say.unjudged;
    case "diversification":
      return typeof similarity === "number" ? say.diverse(Number(note.relevance), similarity) : say.undiverse;
    default:
      return "";
  }
}

/** Return a step's or score's name in plain words; one that is not known keeps its own. */
function known(say: Texts, name: string): string {
  const text = Object.hasOwn(say, name) ? say[name as keyof Texts] : name;
  return typeof text === "string" ? text : name;
}
