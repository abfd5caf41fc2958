/** What the arguments of `npm test --` ask for. */
export interface Selection {
  readonly listScenarios: boolean;
  /** Workers in tests keep no workflow in memory. */
  readonly cacheZero: boolean;
  /** Add paths of workflows that no recorded history has yet to `test/histories`. */
  readonly record: boolean;
  /** Parts of file paths; empty for all. */
  readonly paths: readonly string[];
  /** Beginnings of test titles; empty for all. */
  readonly titles: readonly string[];
}

export function parseArguments(args: readonly string[]): Selection {
  const options = args.filter((arg) => arg.startsWith('--'));
  const unknown = options.filter((option) => !['--list-scenarios', '--cache-0', '--record'].includes(option));
  if (unknown.length > 0)
    throw new Error(`Unknown option ${unknown.join(' ')}: there are --list-scenarios, --cache-0 and --record.`);
  const words = args.filter((arg) => !arg.startsWith('--'));
  return {
    listScenarios: options.includes('--list-scenarios'),
    cacheZero: options.includes('--cache-0'),
    record: options.includes('--record'),
    paths: words.filter(isPath),
    titles: words.filter((word) => !isPath(word)),
  };
}

function isPath(word: string): boolean {
  return word.startsWith('test/') || word.startsWith('./') || word.endsWith('.ts');
}

/** The files to run: those asked for by path, and of these the ones that mention a title asked for (all, if none does). */
export function selectFiles(
  { paths, titles }: Pick<Selection, 'paths' | 'titles'>,
  sources: readonly { readonly file: string; readonly text: string }[],
): string[] {
  const wanted = paths.map((path) => path.replace(/^\.\//, ''));
  const byPath = sources.filter(({ file }) => wanted.length === 0 || wanted.some((path) => file.includes(path)));
  const byTitle = byPath.filter(({ text }) => titles.length === 0 || titles.some((title) => text.includes(title)));
  return (byTitle.length > 0 ? byTitle : byPath).map(({ file }) => file);
}

/** `template/1` selects `template/1 …` and not `template/13 …`. */
export function titlePattern(title: string): RegExp {
  return new RegExp(`(^|[\\s,])${title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w-])`);
}
