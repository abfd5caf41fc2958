export { lookup } from './lookup/lookup.ts';
export { templateSwap } from './template/template-swap.ts';
export { templateSwapFleet } from './template/template-swap-fleet.ts';
