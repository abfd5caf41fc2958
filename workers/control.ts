import { main } from './process.ts';

main('control');
