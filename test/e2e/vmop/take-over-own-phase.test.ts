import { takeOverScenarios } from '../../support/vm-takeovers.ts';

takeOverScenarios('Superseded');
