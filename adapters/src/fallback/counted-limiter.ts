import type { ApiMeter } from '@platen/contract/port/api-meter.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'

export function countedLimiter(limiter: Limiter, meter: Pick<ApiMeter, 'limiterFailed'>): Limiter {
  const counted = async <T>(call: Promise<T>): Promise<T> => {
    try {
      return await call
    } catch (error) {
      meter.limiterFailed()
      throw error
    }
  }
  return {
    reserve: (request, signal) => counted(limiter.reserve(request, signal)),
    confirm: (record, signal) => counted(limiter.confirm(record, signal)),
    complete: (manifest, signal) => counted(limiter.complete(manifest, signal)),
    usage: (account, period, signal) => counted(limiter.usage(account, period, signal)),
    report: (query, signal) => counted(limiter.report(query, signal)),
  }
}
