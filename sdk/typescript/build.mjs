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
// the public code of texts is a file of its own, loaded by tasks that ask for parts of texts
const shipped = { ...shared, splitting: true, chunkNames: "[name]", outdir: "dist" };
await build({ ...shipped, entryPoints: ["src/browser.ts"] });
await build({ ...shipped, entryPoints: ["src/survey.ts"] });
await build({ ...shipped, entryPoints: ["src/node.ts"], platform: "node" });
// esbuild bundles; what terser's compression saves beyond it, 5 % of what a page loads, is worth a second look
for (const name of readdirSync("dist")) {
  const { code } = await minify(readFileSync(`dist/${name}`, "utf8"), {
    module: true, ecma: 2020, mangle: true, compress: { passes: 3, unsafe_arrows: true },
  });
  writeFileSync(`dist/${name}`, code + "\n");
}
const textCode = "src/encoding/textCode.ts";
await Promise.all([
  build({ bundle: true, entryPoints: [textCode], outdir: "build", outbase: ".", format: "esm", target: "es2022", logLevel: "warning" }),
  build({ entryPoints: sources.filter((path) => path !== textCode && !path.endsWith(".d.ts")), outdir: "build", outbase: ".", format: "esm", target: "es2022", logLevel: "warning" }),
]);
