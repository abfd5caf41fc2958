/** Words that stand before a command in a shell's grammar and are none. */
const keywords = new Set(['for', 'do', 'done', 'if', 'then', 'fi']);

/**
 * The commands of a shell script, each as its words: quotes are taken off, comments, redirections and variables that are set
 * for one command left out. What stands in `$(…)` or `<(…)` is a command too. Enough of the grammar for what documents show.
 */
export function shellCommands(script: string): string[][] {
  const commands: string[][] = [];
  let words: string[] = [];
  let word: string | undefined;
  const endWord = (): void => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  const endCommand = (): void => {
    endWord();
    const command = withoutAssignments(withoutRedirections(words));
    if (command.length > 0) commands.push(command);
    words = [];
  };
  const text = script.replaceAll(/\\\n\s*/g, ' ');
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    const inner = /^[$<]\(([^()]*)\)/.exec(text.slice(at));
    const quoted = /^(?:'([^']*)'|"([^"]*)")/.exec(text.slice(at));
    if (inner !== null) {
      commands.push(...shellCommands(inner[1] ?? ''));
      word = (word ?? '') + inner[0];
      at += inner[0].length - 1;
    } else if (quoted !== null) {
      commands.push(
        ...[...(quoted[2] ?? '').matchAll(/\$\(([^()]*)\)/g)].flatMap(([, code]) => shellCommands(code ?? '')),
      );
      word = (word ?? '') + (quoted[1] ?? quoted[2] ?? '');
      at += quoted[0].length - 1;
    } else if (char === '#' && word === undefined) {
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end - 1;
    } else if ('\n;|&'.includes(char)) endCommand();
    else if (char === ' ') endWord();
    else word = (word ?? '') + char;
  }
  endCommand();
  return commands;
}

function withoutRedirections(words: readonly string[]): string[] {
  return words.filter((word, i) => !/^\d?[<>]/.test(word) && !/^\d?[<>]+$/.test(words[i - 1] ?? ''));
}

function withoutAssignments(words: readonly string[]): string[] {
  const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word) && word !== 'export' && !keywords.has(word));
  return first === -1 || words[0] === 'for' ? [] : words.slice(first);
}
