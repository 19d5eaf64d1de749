import type { ObjectKind } from '../api/records.ts'
import type { Span, SpanLink } from './trace.ts'

/** That a source said something about an object, or about many at once: whoever acts on it adds to its trace. */
export interface ObjectEvent {
  readonly span: Span
  readonly kind: ObjectKind
  /** `Add`, `Update`, `Delete`; `List` for many at once. */
  readonly verb: EventVerb
  /** For the sync that it causes; absent where nobody records. */
  readonly link: SpanLink | undefined
}

export type EventVerb = 'Add' | 'Update' | 'Delete' | 'List'
