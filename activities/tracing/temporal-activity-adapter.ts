import type { Context } from '@temporalio/activity';
import {
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryActivityOutboundInterceptor,
} from '@temporalio/interceptors-opentelemetry/lib/worker/index.js';

/** Makes each attempt of an activity a span of the trace that its workflow was handed; its log lines name both. */
export function tracedActivity(context: Context) {
  return {
    inbound: new OpenTelemetryActivityInboundInterceptor(context),
    outbound: new OpenTelemetryActivityOutboundInterceptor(context),
  };
}
