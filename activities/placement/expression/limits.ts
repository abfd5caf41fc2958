/** What an expression may cost. Nothing that a person would write comes near. */
export const limits = {
  /** Characters of an expression. */
  text: 4_096,
  /** Nodes of its tree. A list of as many uuids as fit into the text has about 100. */
  nodes: 500,
  /** Brackets, calls and signs inside one another; bounds the recursion. A chain of `or` is flat. */
  depth: 50,
  /** Fields of a map with those of the maps in it: maps of maps of themselves double with each level. */
  fields: 1_000,
  /** Steps of one evaluation: a node is one, and so are `charsPerStep` of a text that is read or made. */
  steps: 100_000,
  /** Milliseconds of one evaluation. */
  timeMs: 50,
  /** Steps between two looks at the clock: well below a millisecond. */
  stepsPerLook: 2_048,
  charsPerStep: 16,
  /** Pairs of characters that a search for a text compares in the time of a step. */
  comparesPerStep: 1_024,
  /** Characters of a text that an expression makes. No property of a VM is as long. */
  madeText: 262_144,
  /** Characters of a pattern, and of one that is only known at evaluation: compiling it is part of the time limit then. */
  pattern: 1_000,
  dynamicPattern: 200,
  /** Patterns made of data that are kept compiled. */
  recentPatterns: 100,
  /** Instructions of a compiled pattern. */
  patternSize: 2_000,
  /** Matching reads each character once per instruction at worst, at about 40 ns: so many of these fit into a step. */
  matchesPerStep: 10,
  /** Compiled expressions that are kept. A batch has a few dozen. */
  cached: 1_000,
} as const;
