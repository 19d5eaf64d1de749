import type { FlagValues } from '../../config/flags/flag.ts'
import type { RootLogger } from '../../observe/logging/create-logger.ts'
import type { Program } from '../program.ts'
import type {
  apiFlags,
  commonFlags,
  execFlags,
  fileFlags,
  kubeFlags,
  nodeFlags,
  printFlags,
  toApiFlags,
  toFileFlags,
} from './kpng-flags.ts'
import type { ModelSource } from './open-model.ts'
import type { KpngSource } from './to-mode.ts'

/** The command line of a sink, before its flags are read. */
export interface SinkCommand {
  readonly source: KpngSource
  readonly sink: string
  readonly flags: readonly string[]
  /** What comes after `--`. */
  readonly command: readonly string[]
}

/** The flags of all commands. Each sink reads only its own, and only those are set. */
export type SinkValues = FlagValues<typeof commonFlags> &
  FlagValues<typeof kubeFlags> &
  FlagValues<typeof fileFlags> &
  FlagValues<typeof apiFlags> &
  FlagValues<typeof toApiFlags> &
  FlagValues<typeof nodeFlags> &
  FlagValues<typeof printFlags> &
  FlagValues<typeof execFlags> &
  FlagValues<typeof toFileFlags>

export interface SinkContext {
  readonly line: SinkCommand
  readonly values: SinkValues
  readonly model: ModelSource
  readonly log: RootLogger
  readonly program: Program
}

/** What a sink answers at /healthz before it has been given a state. */
export const incomplete = 'the state is not complete yet'
