import preact from "@preact/preset-vite";
import { defineConfig } from "vitest/config";

// `base: "./"`: the page works wherever a proxy puts it. The built files are a part of the Python package.
export default defineConfig({
  base: "./",
  plugins: [preact({ devToolsEnabled: false })],
  build: {
    outDir: "../backend/ragcorp/interface/http/page",
    emptyOutDir: true,
    sourcemap: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    target: "es2022",
  },
  test: { css: true }, // the colours of the tokens are tested
  server: {
    proxy: { "^/(search|ask|documents|collections|status|healthz|docs|openapi.json)": "http://127.0.0.1:8000" },
  },
});
