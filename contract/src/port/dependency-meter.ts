/** Services outside a process, with the operations that are measured. */
export const OPERATIONS = {
  chromium: ['launch'],
  kafka: ['produce', 'health_check'],
  kubernetes: ['get', 'post', 'put', 'patch', 'delete'],
  redis: ['call'],
  s3: ['put', 'create', 'get', 'has', 'delete', 'list', 'health_check'],
} as const
export type Dependency = keyof typeof OPERATIONS
type OperationOf<Name extends Dependency> = (typeof OPERATIONS)[Name][number]

/** `timeout`: the caller's time limit ended it. `canceled`: the caller no longer needed it, for example because its own caller had left. */
export const CALL_RESULTS = ['ok', 'error', 'timeout', 'canceled'] as const
export type CallResult = (typeof CALL_RESULTS)[number]

/** Counting never fails and never waits. */
export interface DependencyMeter<Name extends Dependency = Dependency> {
  called(operation: OperationOf<Name>, call: { readonly result: CallResult; readonly durationMs: number }): void
  /** Makes a call and counts it. Returns or throws as the call does. `signal` is the one that may end it. */
  measure<T>(operation: OperationOf<Name>, call: () => Promise<T>, signal: AbortSignal): Promise<T>
}
