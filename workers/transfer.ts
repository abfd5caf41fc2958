import { main } from './process.ts';

main('transfer');
