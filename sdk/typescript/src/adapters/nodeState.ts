/** A device's state in files of a folder, each flushed before it counts. */

import { link, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { TreetopError } from "../errors.js";
import type { DeviceState, WithState } from "../services/deviceState.js";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const LEDGER = /^ledger\.(\d{1,15})$/;

/**
 * Return the way to the state in a folder. Every write of the ledger is a new file with the next number, which only one
 * process can create: whoever comes second is refused, and no lock is left behind by a process that was killed.
 */
export function nodeState(folder: string): WithState {
  return async (use) => {
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
    return use(stateIn(folder));
  };
}

function stateIn(folder: string): DeviceState {
  return {
    ledger: {
      load: async () => {
        const newest = (await ledgerNumbers(folder)).at(-1);
        return newest === undefined ? null : new Uint8Array(await readFile(ledgerFile(folder, newest)));
      },
      replace: async (ledger, counter) => {
        const older = await ledgerNumbers(folder);
        if ((older.at(-1) ?? 0) !== counter - 1) throw heldByAnother();
        const beside = join(folder, `ledger.new.${process.pid}.${counter}`);
        await writeFlushed(beside, ledger);
        await link(beside, ledgerFile(folder, counter)).catch((error: unknown) => {
          throw (error as NodeJS.ErrnoException).code === "EEXIST" ? heldByAnother() : error;
        });
        await flushFolder(folder);
        await Promise.all([beside, ...older.map((number) => ledgerFile(folder, number))].map((path) => rm(path)));
      },
    },
    counter: {
      read: async () => {
        const text = await contentOf(join(folder, "counter"));
        if (text !== null && !/^\d{1,15}$/.test(text)) throw new TreetopError("ledger", "the file of the counter is damaged");
        return Number(text ?? 0);
      },
      advance: (counter) => replaceDurably(folder, "counter", `${counter}`),
    },
    notes: {
      read: (name) => contentOf(join(folder, name)),
      write: (name, text) => replaceDurably(folder, name, text),
    },
  };
}

function ledgerFile(folder: string, number: number): string {
  return join(folder, `ledger.${number}`);
}

/** Return the numbers of all ledgers that are there, the newest last. */
async function ledgerNumbers(folder: string): Promise<number[]> {
  const numbers = (await readdir(folder)).map((name) => LEDGER.exec(name)?.[1]).filter((digits) => digits !== undefined);
  return numbers.map(Number).sort((one, two) => one - two);
}

function heldByAnother(): TreetopError {
  return new TreetopError("ledger", "holder of the ledger: expected this process alone, found another one");
}

async function contentOf(path: string): Promise<string | null> {
  return readFile(path, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  });
}

/** Write beside the file, flush, rename over it, flush the folder: all of it or nothing, for its owner alone. */
async function replaceDurably(folder: string, name: string, text: string): Promise<void> {
  const beside = join(folder, `${name}.new.${process.pid}`);
  await writeFlushed(beside, new TextEncoder().encode(text));
  await rename(beside, join(folder, name));
  await flushFolder(folder);
}

async function writeFlushed(path: string, content: Uint8Array): Promise<void> {
  await rm(path, { force: true }); // what a crash left, or a link that somebody put there
  const file = await open(path, "wx", FILE_MODE);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
