import { OpenTelemetryWorkflowClientInterceptor } from '@temporalio/interceptors-opentelemetry/lib/client/index.js';
import { clientInterceptors } from '../../workflows/contracts/ask-again.ts';

/** The interceptors of a client whose calls are part of a trace, and hand it on to the workflows. After `startTracing`. */
export function tracedClientInterceptors() {
  return { workflow: [new OpenTelemetryWorkflowClientInterceptor(), ...clientInterceptors.workflow] };
}
