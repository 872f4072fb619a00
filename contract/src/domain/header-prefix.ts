/** The prefix of our own headers, in answers and webhooks: the brand `service` gives `X-Service`. */
export function headerPrefix(brand: string): string {
  return `X-${brand.charAt(0).toUpperCase()}${brand.slice(1)}`
}
