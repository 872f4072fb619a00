import type { Metrics } from '../registry.ts'

interface SettingsState {
  /** Since when they are in force, in epoch milliseconds. */
  readonly since: () => number
  readonly isRefused: () => boolean
}

export function gaugeSettings(metrics: Metrics, settings: SettingsState): void {
  metrics.observableGauge(
    'platen_settings_timestamp_seconds',
    'Unix time since which the process has its present settings: its start, or the last change of a file of a setting.',
    () => settings.since() / 1000,
  )
  metrics.observableGauge(
    'platen_settings_refused',
    '1 while a changed file of a setting is wrong, and the settings before it stay in force.',
    () => (settings.isRefused() ? 1 : 0),
  )
}
