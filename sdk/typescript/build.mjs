// Builds the package: dist/ is what ships, build/ is every module by itself for the tests, in Node and in a browser.
import { build } from "esbuild";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { minify } from "terser";

const target = ["es2022", "chrome118", "firefox129", "safari17"];
const shared = { bundle: true, format: "esm", minify: true, target, legalComments: "none", logLevel: "warning" };
const sources = ["src", "tests"].flatMap((folder) =>
  readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".ts")).map((name) => `${folder}/${name}`),
);
for (const folder of ["dist", "build"]) rmSync(folder, { recursive: true, force: true });
// What only some tasks need is a file of its own, loaded by those: the public code of texts, catalogues, reports of sets, campaigns, rounds.
// Each is whole, with its own copy of the few lines that it shares, so that a page that needs none of it loads one file.
const APART = {
  textCode: "src/encoding/textCode.ts", itemLists: "src/wire/itemLists.ts", sets: "src/sets.ts", campaigns: "src/device/campaigns.ts",
  rounds: "src/device/rounds.ts",
};
const apart = {
  name: "apart",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/(textCode|itemLists|sets|campaigns|rounds)\.js$/ }, ({ path, kind }) =>
      kind === "dynamic-import" ? { path: `./${path.split("/").at(-1)}`, external: true } : undefined),
};
const shipped = { ...shared, plugins: [apart], outdir: "dist" };
await build({ ...shipped, entryPoints: ["src/browser.ts", "src/survey.ts"] });
await build({ ...shipped, entryPoints: ["src/node.ts"], platform: "node" });
await build({ ...shared, outdir: "dist", entryPoints: Object.values(APART), entryNames: "[name]" });
// esbuild bundles; what terser's compression saves beyond it, 5 % of what a page loads, is worth a second look
for (const name of readdirSync("dist")) {
  const { code } = await minify(readFileSync(`dist/${name}`, "utf8"), {
    module: true, ecma: 2020, mangle: true, compress: { passes: 3, unsafe_arrows: true },
  });
  writeFileSync(`dist/${name}`, code + "\n");
}
const loose = { outdir: "build", outbase: ".", format: "esm", target: "es2022", logLevel: "warning" };
await Promise.all([
  build({ ...loose, bundle: true, entryPoints: [APART.textCode] }),
  build({ ...loose, entryPoints: sources.filter((path) => path !== APART.textCode && !path.endsWith(".d.ts")) }),
]);
