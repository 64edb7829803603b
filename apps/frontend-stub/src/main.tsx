// First what all views share: what a view says of itself comes after it, and holds.
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import { render } from "preact";
import { App } from "./app";

history.scrollRestoration = "manual"; // the page knows where each of its views was left

const root = document.getElementById("app");
if (root) {
  root.replaceChildren(); // what stands there for whom this file does not reach
  render(<App />, root);
}
