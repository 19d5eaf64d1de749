/** The rows that a page would show after what it was sent. */
import type { ServiceRow } from '../../wire.ts'
import type { RecordingViewer } from './shown-node.ts'

export class ShownRows {
  readonly #viewer: RecordingViewer

  constructor(viewer: RecordingViewer) {
    this.#viewer = viewer
  }

  get byKey(): ReadonlyMap<string, ServiceRow> {
    const rows = new Map<string, ServiceRow>()
    for (const { isFirst, rows: changed, gone = [], traffic = {} } of this.#viewer.of('services')) {
      if (isFirst) rows.clear()
      for (const row of changed) rows.set(row.key, row)
      for (const key of gone) rows.delete(key)
      for (const [key, numbers] of Object.entries(traffic)) {
        const row = rows.get(key)
        if (row !== undefined) rows.set(key, { ...row, traffic: numbers })
      }
    }
    return rows
  }

  get size(): number {
    return this.byKey.size
  }

  of(key: string): ServiceRow | undefined {
    return this.byKey.get(key)
  }
}
