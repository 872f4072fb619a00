import { NO_TRACER } from '@platen/lib/tracer.ts'
import type { ProcessTracer, TracerOptions } from './process-tracer.ts'

/** The variables of OpenTelemetry decide everything else. */
export interface OpenTracerOptions extends Omit<TracerOptions, 'protocol'> {
  readonly traces: Pick<TracerOptions, 'protocol'> | undefined
}

/**
 * OpenTelemetry is loaded only if spans are exported: it takes a tenth of a second and some MiB. Throws if a variable of OpenTelemetry is
 * wrong; the message names it.
 */
export async function openTracer({ traces, ...options }: OpenTracerOptions): Promise<ProcessTracer> {
  if (traces === undefined) return { ...NO_TRACER, lostSpans: () => 0, [Symbol.asyncDispose]: async () => undefined }
  const { openExportingTracer } = await import('./exporting-tracer.ts')
  return openExportingTracer({ ...options, ...traces })
}
