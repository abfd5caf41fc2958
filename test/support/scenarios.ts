/** The acceptance scenarios, by the prefix that the titles of their tests start with. One more spec is one more entry. */
export interface ScenarioSet {
  readonly prefix: string;
  readonly title: string;
  readonly ids: readonly string[];
}

export const scenarioSets: readonly ScenarioSet[] = [
  { prefix: 'template', title: 'Template swap', ids: Array.from({ length: 47 }, (_, index) => `${index + 1}`) },
  {
    prefix: 'vmop',
    title: 'VM operations',
    ids: Array.from({ length: 42 }, (_, index) => `A${String(index + 1).padStart(2, '0')}`),
  },
  {
    prefix: 'hibernate',
    title: 'Hibernate-snapshot migration',
    // AS-38 is about agents that don't say what they do: not supported yet.
    ids: Array.from({ length: 40 }, (_, index) => `AS-${String(index + 1).padStart(2, '0')}`).filter(
      (id) => id !== 'AS-38',
    ),
  },
  {
    prefix: 'batch',
    title: 'Batch migration',
    ids: Array.from({ length: 53 }, (_, index) => `S${String(index + 1).padStart(2, '0')}`),
  },
  {
    prefix: 'case',
    title: 'Reported cases',
    ids: [
      '01',
      '03',
      '05',
      '08',
      '11',
      '13',
      '16',
      '17',
      '19',
      '21',
      '23',
      '24',
      '27',
      '29',
      '31',
      '33',
      '35',
      '37',
      '40',
      '41',
      '43',
      '46',
      '48',
      '50',
      '52',
      '54',
      '56',
      '57',
      '60',
      '63',
      '64',
      '66',
      '68',
      '69',
      '71',
      '73',
      '75',
      '78',
      '80',
      '82',
      '83',
      '85',
      '87',
      '89',
      '91',
      '93',
      '95',
      '97',
      '98',
      '101',
      '103',
      '105',
    ],
  },
];

/** A test file as the scan sees it. */
export interface TestSource {
  readonly file: string;
  readonly text: string;
}

/** Files whose test titles start with the scenario's id, by id (`template/31`). Skipped and to-do tests don't count. */
export function coverage(
  sets: readonly ScenarioSet[],
  sources: readonly TestSource[],
): ReadonlyMap<string, readonly string[]> {
  const covered = new Map(sets.flatMap(({ prefix, ids }) => ids.map((id) => [`${prefix}/${id}`, new Set<string>()])));
  const id = `(?:${sets.map(({ prefix }) => prefix).join('|')})/[\\w-]+`;
  const title = new RegExp(`(\\b(?:skip|todo)\\(\\s*)?['"\`]((?:${id}(?:,? (?:and )?)?)+)`, 'g');
  for (const { file, text } of sources) {
    for (const [, isSkipped, ids = ''] of text.matchAll(title)) {
      if (isSkipped) continue;
      for (const [found] of ids.matchAll(new RegExp(id, 'g'))) covered.get(found)?.add(file);
    }
  }
  return new Map([...covered].map(([key, files]) => [key, [...files]]));
}

/** What `npm test -- --list-scenarios` prints. */
export function scenarioReport(sets: readonly ScenarioSet[], sources: readonly TestSource[]): string {
  const covered = coverage(sets, sources);
  return sets
    .map(({ prefix, title, ids }) => {
      const rows = ids.map((id) => {
        const files = covered.get(`${prefix}/${id}`) ?? [];
        return `  ${`${prefix}/${id}`.padEnd(18)}${files.length > 0 ? `covered      ${files.join(', ')}` : 'not covered'}`;
      });
      const count = ids.filter((id) => covered.get(`${prefix}/${id}`)?.length).length;
      return [`${title}: ${count} of ${ids.length} covered`, ...rows].join('\n');
    })
    .join('\n\n');
}
