// Builds the package: dist/ is what ships, build/ is every module by itself for the tests, in Node and in a browser.
import { build } from "esbuild";
import { readdirSync, rmSync } from "node:fs";

const target = ["es2022", "chrome118", "firefox129", "safari17"];
const shared = { bundle: true, format: "esm", minify: true, target, legalComments: "none", logLevel: "warning" };
const sources = ["src", "tests"].flatMap((folder) =>
  readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".ts")).map((name) => `${folder}/${name}`),
);
for (const folder of ["dist", "build"]) rmSync(folder, { recursive: true, force: true });
await Promise.all([
  build({ ...shared, entryPoints: ["src/browser.ts", "src/survey.ts"], outdir: "dist" }),
  build({ ...shared, entryPoints: ["src/node.ts"], outdir: "dist", platform: "node" }),
  build({ entryPoints: sources, outdir: "build", outbase: ".", format: "esm", target: "es2022", logLevel: "warning" }),
]);
