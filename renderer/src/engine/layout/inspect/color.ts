/** `color` is a style value after react-pdf has read it. Absent and unreadable ones count as not opaque. */
export function isOpaque(color: unknown): boolean {
  if (typeof color !== 'string' || color === 'transparent') return false
  if (color.startsWith('#')) return color.length <= 4 || color.length === 7 || /^#(?:.{3}f|.{6}ff)$/i.test(color)
  // A name, or a function of three values.
  return /^(?:[a-z]+|[a-z]+\([^,/]+(?:,[^,/]+){2}\))$/i.test(color)
}

/** Whether an image has no transparent pixels, as far as its file says. */
export function isOpaqueImage(image: { readonly format?: string; readonly data?: unknown } | undefined): boolean {
  if (image?.format === 'jpg' || image?.format === 'jpeg') return true
  const { data } = image ?? {}
  return data instanceof Uint8Array && [GREY, RGB].includes(data[PNG_COLOR_TYPE_AT] ?? PALETTE)
}

/** Offset of the colour type in a PNG. */
const PNG_COLOR_TYPE_AT = 25
const GREY = 0
const RGB = 2
const PALETTE = 3
