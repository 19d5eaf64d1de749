/** One page below `/debug/`: on the metrics port for clients on this machine, and on the daemon's own socket. */
export interface DebugPage {
  /** `/debug/syncs`; with a `/` at the end, everything below it. */
  readonly path: string
  /** For the list of pages: what it shows, and what can be asked. */
  readonly about: string
  /** How to ask for less, for an answer that is too long: what to write after "for example". */
  readonly shorter?: string
  /** What it throws becomes a 500 and a log line. The signal aborts when the client is gone or has waited too long. */
  answer(request: DebugRequest, signal: AbortSignal): Promise<DebugAnswer>
}

export interface DebugRequest {
  /** What follows the page's path, decoded: `['default', 'web']` for `/debug/services/default/web`. */
  readonly rest: readonly string[]
  readonly query: URLSearchParams
}

export type DebugAnswer =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'text'; readonly text: string }
  /** The question makes no sense, or names something that is not there: a sentence that says what to ask instead. */
  | { readonly kind: 'refused'; readonly status: 400 | 404; readonly message: string }

export function refused(status: 400 | 404, message: string): DebugAnswer {
  return { kind: 'refused', status, message }
}
