import { ProgramRunner } from './program-runner.ts';

/** One thread for the programs of all batches; started by the first that has one. */
export const programs = new ProgramRunner();
