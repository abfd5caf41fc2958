import { main } from './codec/main.ts';

main();
