import { RecordingTable } from './recording-table.ts'
import type { Ruleset } from './ruleset.ts'

/** Keeps the ruleset of every moment. */
export class FilmedTable extends RecordingTable {
  moments: Ruleset[] = []

  override async commit(...args: Parameters<RecordingTable['commit']>): Promise<void> {
    await super.commit(...args)
    this.moments.push(await this.ruleset())
  }
}
