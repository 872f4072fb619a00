/** Names of locales and time zones in requests and resources: those that `Intl` of this release knows. */

export interface IntlName {
  readonly isValid: (name: string) => boolean
  /** Of a name that is not valid. */
  readonly fault: string
}

export const LANGUAGE_TAG: IntlName = {
  isValid: (name) => doesNotThrow(() => new Intl.Locale(name)),
  fault: 'is no language tag such as pl-PL',
}

export const TIME_ZONE: IntlName = {
  isValid: (name) => doesNotThrow(() => new Intl.DateTimeFormat('en-US', { timeZone: name })),
  fault: 'is no time zone such as Europe/Warsaw',
}

function doesNotThrow(use: () => unknown): boolean {
  try {
    use()
    return true
  } catch {
    return false
  }
}
