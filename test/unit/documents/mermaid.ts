import { codeBlocks } from './markdown.ts';

export interface Diagram {
  /** Without beginning and end. */
  readonly states: ReadonlySet<string>;
  /** `From → To`, beginning and end left out. */
  readonly transitions: ReadonlySet<string>;
}

/** The state diagrams of a page in their order; a state that has an alias is called by its full name. */
export function stateDiagrams(text: string): Diagram[] {
  return codeBlocks(text, 'mermaid').map((source) => {
    const aliases = new Map(
      [...source.matchAll(/^ *state "([^"]+)" as (\w+)$/gm)].map(([, name = '', alias = '']) => [alias, name]),
    );
    const arrows = [...source.matchAll(/^ *(\S+) --> (\S+?)(?::.*)?$/gm)].map(([, from = '', to = '']) =>
      [from, to].map((state) => aliases.get(state) ?? state),
    );
    const inner = arrows.filter((ends) => !ends.includes('[*]'));
    return {
      states: new Set(arrows.flat().filter((state) => state !== '[*]')),
      transitions: new Set(inner.map((ends) => ends.join(' → '))),
    };
  });
}
