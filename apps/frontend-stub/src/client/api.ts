import createClient from "openapi-fetch";
import type { components, paths } from "./schema";
import { authorisedFetch, BASE } from "./transport";

/** The service's operations, typed by its own description. Wrap a call in `answerOf`. */
export const api = createClient<paths, "application/json">({ baseUrl: BASE, fetch: authorisedFetch });

type Schemas = components["schemas"];
export type SearchBody = Schemas["SearchBody"];
export type SearchResults = Schemas["SearchResults"];
export type Result = Schemas["Result"];
export type ResultSource = Schemas["ResultSource"];
export type AskBody = Schemas["AskBody"];
export type AnswerBody = Schemas["AnswerBody"];
export type AnswerCitation = Schemas["AnswerCitation"];
export type Degraded = Schemas["Degraded"];
export type StoredDocument = Schemas["StoredDocument"];
export type DescribedDocument = Schemas["DescribedDocument"];
export type DocumentList = Schemas["DocumentList"];
export type Stored = Schemas["Stored"];
export type Unread = Schemas["Unread"];
export type Incomplete = Schemas["IncompleteSource"];

/** The fields of a body that the service has a default for may be left out. */
export type Asked<Body, Needed extends keyof Body = never> = Pick<Body, Needed> & Partial<Body>;
