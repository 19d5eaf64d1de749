/** Reads server-sent events out of text that comes in pieces. Unlike `EventSource`, it is fed by a request whose status we see. */
export interface StreamEvent {
  readonly name: string
  readonly data: string
}

export class EventStreamReader {
  /** The beginning of a line whose end has not come yet. */
  #rest = ''
  #name = ''
  #data: string[] = []

  /** The events that this piece completes. */
  read(piece: string): readonly StreamEvent[] {
    const events: StreamEvent[] = []
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) {
      const event = this.#readLine(line.endsWith('\r') ? line.slice(0, -1) : line)
      if (event !== undefined) events.push(event)
    }
    return events
  }

  #readLine(line: string): StreamEvent | undefined {
    if (line === '') return this.#endOfEvent()
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'event') this.#name = value
    if (field === 'data') this.#data.push(value)
    // A comment (no field name) only shows that the server is there; `id` and `retry` are not used.
    return undefined
  }

  #endOfEvent(): StreamEvent | undefined {
    const event = this.#data.length === 0 ? undefined : { name: this.#name || 'message', data: this.#data.join('\n') }
    this.#name = ''
    this.#data = []
    return event
  }
}
