/** One command of a page: what stands in a block of `sh`, as a shell takes it. */
export interface ShownCommand {
  /** The heading that it stands under. */
  readonly section: string;
  readonly text: string;
  /** What its comment says: `# exit 5: …`; else 0. */
  readonly exit: number;
}

/** Every command of a page, in its order. A loop is one command; a comment on a line of its own belongs to the command before. */
export function shownCommands(page: string): ShownCommand[] {
  const commands: ShownCommand[] = [];
  let section = '';
  for (const [, heading, , block] of page.matchAll(/^#+ (.+)$|^( *)```sh\n([\s\S]*?)^ *```$/gm)) {
    if (heading !== undefined) section = heading;
    else commands.push(...commandsOf(block ?? '').map((command) => ({ section, ...command })));
  }
  return commands;
}

function commandsOf(block: string): Omit<ShownCommand, 'section'>[] {
  const found: { text: string; exit: number }[] = [];
  let open = '';
  for (const line of block.split('\n')) {
    const [, code = '', comment = ''] = /^((?:'[^']*'|"[^"]*"|[^'"#]|(?<=\S)#)*)(#.*)?$/.exec(line) ?? [];
    const text = code.trim();
    const exit = /^# exit (\d+)\b/.exec(comment)?.[1];
    if (text !== '') {
      open += open === '' ? text : `\n${text}`;
      if (text.endsWith('\\') || (/^for\b/.test(open) && !/\bdone\b/.test(open))) continue;
      found.push({ text: open, exit: 0 });
      open = '';
    }
    const last = found.at(-1);
    if (exit !== undefined && last !== undefined) last.exit = Number(exit);
  }
  return found;
}

/** What a page shows after a command, as a pattern: numbers, ids and digests are others each time. */
export function patternOf(shown: string): RegExp {
  const lines = shown.trimEnd().split('\n');
  const pattern = lines.map((line) =>
    line
      .replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
      .replaceAll(/sha256:\S+/g, String.raw`sha256:[0-9a-f]+`)
      .replaceAll(/vm-\w+/g, String.raw`vm-\w+`)
      .replaceAll(/(?<= )\d+\\\.\d+/g, String.raw`\d+\.\d+`),
  );
  return new RegExp(`^${pattern.join('\n')}$`, 'm');
}
