/** Whether the environment names a collector of traces, by OpenTelemetry's own variables. Without one nothing of it is loaded. */
export function isTracingWanted(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none') return false;
  const endpoints = [env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'], env['OTEL_EXPORTER_OTLP_ENDPOINT']];
  return endpoints.some((endpoint) => endpoint !== undefined && endpoint !== '');
}
