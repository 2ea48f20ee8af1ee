/** Elements made of texts: nothing is ever parsed as markup. */

type Child = Node | string | null;
type Handlers = { readonly [event: `on${string}`]: (event: Event) => void };
export type Attributes = Readonly<Record<string, string | boolean | ((event: Event) => void)>> | Handlers;

function filled<Made extends Element>(made: Made, attributes: Attributes, children: readonly Child[]): Made {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value as EventListener);
    else if (value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function html<Name extends keyof HTMLElementTagNameMap>(
  name: Name, attributes: Attributes = {}, ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name: string, attributes: Attributes = {}, ...children: readonly Child[]): SVGElement {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}
