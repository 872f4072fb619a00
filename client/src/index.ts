export type {
  AcceptedBatch,
  AcceptedRender,
  PdfAnswer,
  PdfBytes,
  PdfConsumer,
  Quota,
  Rate,
  RenderAnswer,
  RenderedPdf,
} from './client/answer.ts'
export type { BatchInput, BatchItemInput } from './client/batch.ts'
export type { RenderCallOptions } from './client/call.ts'
export type {
  DeliveryFilters,
  DeliveryListOptions,
  ListOptions,
  RenderFilters,
  RenderListOptions,
  RenderPage,
  TemplatePage,
} from './client/list.ts'
export type { EndedBatch, SucceededRender } from './client/wait.ts'
export {
  type AwaitedPdf,
  type Client,
  type ClientOptions,
  createClient,
  type RenderInput,
} from './client.ts'
export { type LocalCode, PlatenError, type PlatenErrorCode, type PlatenErrorReason } from './error.ts'
export type { CallOptions } from './transport.ts'
export type { BatchEndedBody, FailedBody, SucceededBody, TestBody, WebhookBody, WebhookEvent } from './webhook/event.ts'
export { type SignedDelivery, type SignOptions, signTestEvent, type TestEvent } from './webhook/sign.ts'
export {
  type VerifyOptions,
  verifyWebhook,
  type WebhookFault,
  type WebhookHeaders,
  WebhookVerificationError,
} from './webhook.ts'
export type * from './wire.ts'
