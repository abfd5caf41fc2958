import { main } from './bridge/bridge.ts';

main();
