export { lookup } from './lookup/lookup.ts';
export { templateSwap } from './template/template-swap.ts';
export { templateSwapFleet } from './template/template-swap-fleet.ts';
export { vmopGc, vmopSweep } from './vmop/upkeep.ts';
export { vmCoordinator } from './vmop/vm-coordinator.ts';
export { vmOperation } from './vmop/vm-operation.ts';
