/** A device's state in a browser: the ledger in IndexedDB, its counter in localStorage, one tab at a time. */

import { check, TreetopError } from "../errors.js";
import type { DeviceState, WithState } from "../services/deviceState.js";

const STORE = "kept";
const LEDGER = "ledger";

interface KeptLedger {
  readonly counter: number;
  readonly bytes: Uint8Array;
}

/** Return the way to the state of that name; tabs and workers of the same site take turns. */
export function browserState(name: string): WithState {
  return async (use) => {
    const { locks } = navigator as { locks?: LockManager };
    check(locks !== undefined, "input", "page", "one on https, or on this machine");
    const database = await opened(name);
    try {
      return await locks.request(name, () => use(stateIn(database, name)));
    } finally {
      database.close();
    }
  };
}

function stateIn(database: IDBDatabase, name: string): DeviceState {
  const stored = (key: string): Promise<unknown> => done(database.transaction(STORE).objectStore(STORE).get(key));
  return {
    ledger: {
      load: async () => ((await stored(LEDGER)) as KeptLedger | undefined)?.bytes ?? null,
      replace: (bytes, counter) =>
        written(database, (store) => {
          const before = store.get(LEDGER);
          before.onsuccess = () => {
            const found = (before.result as KeptLedger | undefined)?.counter ?? 0;
            if (found === counter - 1) store.put({ counter, bytes } satisfies KeptLedger, LEDGER);
            else store.transaction.abort();
          };
        }),
    },
    counter: {
      read: () => Promise.resolve(Number(localStorage.getItem(`${name}:counter`) ?? 0)),
      advance: (counter) => {
        localStorage.setItem(`${name}:counter`, `${counter}`);
        return Promise.resolve();
      },
    },
    notes: {
      read: async (key) => ((await stored(key)) as string | undefined) ?? null,
      write: (key, text) => written(database, (store) => store.put(text, key)),
    },
  };
}

function opened(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  return done(request);
}

function done<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(unwritable(request.error));
  });
}

/** Return once a change is on the disk: `strict` has the browser flush it before it says so. */
function written(database: IDBDatabase, change: (store: IDBObjectStore) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(unwritable(transaction.error));
    change(transaction.objectStore(STORE));
  });
}

function unwritable(error: DOMException | null): TreetopError {
  return new TreetopError("ledger", `this browser did not keep the ledger: ${error?.name ?? "somebody else has written to it"}`);
}
