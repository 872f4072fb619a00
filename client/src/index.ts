/** The public API of `@platen/client`. */
export {
  type AcceptedRender,
  type Client,
  type ClientOptions,
  createClient,
  type ListOptions,
  type RenderCallOptions,
  type RenderedPdf,
  type RenderFilters,
  type RenderInput,
  type RenderListOptions,
  type RenderPage,
  type TemplatePage,
} from './client.ts'
export { type LocalCode, PlatenError, type PlatenErrorCode, type PlatenErrorReason } from './error.ts'
export type { CallOptions } from './transport.ts'
export type { SucceededRender } from './wait.ts'
export {
  type FailedBody,
  type SucceededBody,
  type VerifyOptions,
  verifyWebhook,
  type WebhookBody,
  type WebhookEvent,
  type WebhookFault,
  type WebhookHeaders,
  WebhookVerificationError,
} from './webhook.ts'
export type * from './wire.ts'
