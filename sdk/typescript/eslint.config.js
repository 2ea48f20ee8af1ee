// Rules for all that ships, and for the device path the rules of tests/unit/federation/device/test_device_path.py: integers
// and ports alone, no floats, no remainders, no other randomness than what is handed in, no clock, no network, no storage.
import tseslint from "typescript-eslint";

export const DEVICE_PATH = [
  "src/{integers,bytes,rational,budget,randomness,publicText,errors}.ts", "src/encoding/*.ts", "src/oracles/*.ts", "src/wire/*.ts",
  "src/device/*.ts",
];
const says = (selector, message) => ({ selector, message });
const HOST = [
  "Math", "Date", "performance", "setTimeout", "setInterval", "fetch", "XMLHttpRequest", "WebSocket", "localStorage",
  "sessionStorage", "indexedDB", "navigator", "document", "window", "self", "process", "require", "console", "crypto", "parseFloat",
];
const NEVER = [
  says("CallExpression[callee.name='eval']", "no code is made of text"),
  says("NewExpression[callee.name='Function']", "no code is made of text"),
  says("CallExpression[callee.object.name='Math'][callee.property.name='random']", "the operating system's randomness alone"),
  says("AssignmentExpression[left.property.name=/^(inner|outer)HTML$/]", "texts are set, never parsed as markup"),
  says("CallExpression[callee.property.name=/^(insertAdjacentHTML|write|writeln)$/][callee.object.name='document']", "no markup of texts"),
];
const INTEGERS = [
  says("Literal[raw=/^(\\d+\\.\\d*|\\.\\d+|\\d[\\d_]*\\.?\\d*[eE][-+]?\\d+)$/]", "a float literal"),
  says("BinaryExpression[operator='/'], AssignmentExpression[operator='/=']", "a division: use quotient()"),
  says("BinaryExpression[operator='%'], AssignmentExpression[operator='%=']", "a remainder"),
  says("BinaryExpression[operator='**'], AssignmentExpression[operator='**=']", "a power"),
  says("MemberExpression[property.name=/^(getRandomValues|randomUUID|parseFloat|toFixed|toPrecision)$/]", "floats, or other randomness"),
  says("MemberExpression[object.name='globalThis']", "the host is reached through ports"),
  says("ImportDeclaration[source.value=/^(node:|[^.])|\\u002fadapters\\u002f|\\u002fservices\\u002f/]", "an import from outside the device path"),
  says("DebuggerStatement", "a breakpoint"),
];

export default tseslint.config(
  { ignores: ["dist", "build", "node_modules"] },
  ...tseslint.configs.strict,
  {
    files: ["src/**/*.ts"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off", // indices that the line before has checked
      "@typescript-eslint/no-empty-function": "off",
      "@typescript-eslint/consistent-type-definitions": "off",
      "no-control-regex": "off",
      "no-constant-condition": "off",
      eqeqeq: "error",
      "no-restricted-syntax": ["error", ...NEVER],
    },
  },
  {
    files: DEVICE_PATH,
    rules: {
      "no-restricted-syntax": ["error", ...NEVER, ...INTEGERS],
      "no-restricted-globals": ["error", ...HOST],
    },
  },
  { files: ["src/integers.ts"], rules: { "no-restricted-syntax": ["error", ...NEVER, ...INTEGERS.filter(({ message }) => !message.startsWith("a division"))] } },
  { files: ["src/bytes.ts"], rules: { "no-restricted-globals": ["error", ...HOST.filter((name) => name !== "crypto")] } }, // SHA-256 alone
  { files: ["tests/**/*.ts"], rules: { "@typescript-eslint/no-explicit-any": "off", "@typescript-eslint/no-non-null-assertion": "off" } },
);
