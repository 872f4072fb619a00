/**
 * Fonts that take most of the space of all fonts. An installation may go without them. Each is named by the language that it is for, or by
 * what it has.
 */
export const LARGE_FONTS = ['zh-Hans', 'zh-Hant', 'ja', 'ko', 'emoji'] as const

export type LargeFont = (typeof LARGE_FONTS)[number]
