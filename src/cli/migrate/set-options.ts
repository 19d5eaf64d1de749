/** What a configuration of kube-proxy sets, by field, and what Fairlead would refuse of it. */
import { configFromFlags } from '../../config/daemon/config-from-flags.ts'
import { daemonFlags } from '../../config/daemon/daemon-flags.ts'
import type { DaemonFlagName } from '../../config/daemon/daemon-flags.ts'
import { fairleadFlags } from '../../config/daemon/fairlead-flags.ts'
import { featureGateProblems } from '../../config/feature-gates.ts'
import { configFromV1alpha1 } from '../../config/file/config-from-v1alpha1.ts'
import { decodeConfigFile } from '../../config/file/decode-config-file.ts'
import type { InKubeProxy } from '../../config/file/schema.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import { withPlatformDefaults } from '../../config/platform.ts'
import { programsNftables, type ProxyMode, type UncheckedConfig } from '../../config/proxy-config.ts'
import { validateConfig } from '../../config/validation/validate-config.ts'
import { parseDocument } from 'yaml'
import { formerFlags, isUnset } from './options.ts'
import type { Given } from './read-given.ts'

export interface SetOption {
  /** As the user wrote it: a field, or a flag with its dashes. */
  readonly name: string
  readonly field: string | undefined
  readonly flag: DaemonFlagName | undefined
  readonly value: unknown
}

export interface Refusal {
  readonly name: string
  readonly problem: string
  readonly inKubeProxy: InKubeProxy
}

export interface SetOptions {
  readonly options: readonly SetOption[]
  readonly refusals: readonly Refusal[]
  /** The mode as it is written; empty if it is not. */
  readonly mode: string
  /** What Fairlead would make of it in another mode: why it would not start. */
  problemsIn(mode: ProxyMode, platform: NodeJS.Platform): readonly Refusal[]
}

/** The system does not matter here: flags of every system are known. */
const everySystem = 'win32'

export function readSetOptions({ file, flags }: Given): SetOptions {
  const byFlags = readFlags(flags, file !== undefined)
  if (file === undefined) return byFlags
  const decoded = decodeConfigFile(file.text)
  const options = optionsInFile(file.text)
  const refusals = decoded.ok
    ? []
    : decoded.problems.map(({ text, field = file.name, inKubeProxy }) => ({
        name: field,
        problem: `${file.name}, ${text}`,
        inKubeProxy,
      }))
  const kept = byFlags.options.filter(({ flag }) => flag !== undefined && isKept(flag))
  return {
    options: [...options, ...kept],
    refusals: [...refusals, ...byFlags.refusals],
    mode: textOf(options.find(({ field }) => field === 'mode')?.value),
    problemsIn: (mode, platform) =>
      decoded.ok ? problemsOf(configFromV1alpha1({ ...decoded.fields, mode }, decoded.fairlead), platform) : [],
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A flag that a file does not override. */
function isKept(flag: DaemonFlagName): boolean {
  const { configField, withConfigFile } = daemonFlags[flag]
  return configField === undefined || withConfigFile !== undefined
}

function readFlags(argv: readonly string[], hasFile: boolean): SetOptions {
  const { known, refusals } = withoutUnknown(argv)
  const read = parseFlags(daemonFlags, known, everySystem)
  if (!read.ok)
    return {
      options: [],
      refusals: [...refusals, { name: 'flags', problem: read.problem, inKubeProxy: 'refused' }],
      mode: '',
      problemsIn: () => [],
    }
  const { values, given } = read
  const fieldOf = (flag: DaemonFlagName) =>
    flag === 'masquerade-all' && programsNftables(values['proxy-mode'])
      ? 'nftables.masqueradeAll'
      : daemonFlags[flag].configField
  return {
    options: [...given].map((flag) => ({ name: `--${flag}`, field: fieldOf(flag), flag, value: values[flag] })),
    refusals,
    mode: values['proxy-mode'],
    problemsIn: (mode, platform) =>
      hasFile ? [] : problemsOf(configFromFlags({ ...values, 'proxy-mode': mode }, given), platform),
  }
}

function withoutUnknown(argv: readonly string[]): {
  readonly known: readonly string[]
  readonly refusals: readonly Refusal[]
} {
  const known: string[] = []
  const refusals: Refusal[] = []
  const rest = [...argv]
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const [, name = '', value] = /^--([^=]+)(=.*)?$/s.exec(argument) ?? []
    const flag = name.replaceAll('_', '-')
    if (name === '' || (Object.hasOwn(daemonFlags, flag) && !Object.hasOwn(fairleadFlags, flag))) {
      known.push(argument)
      continue
    }
    const age = formerFlags.has(flag) ? 'it is of an older kube-proxy' : 'kube-proxy 1.36 does not have it'
    refusals.push({ name: `--${flag}`, problem: `unknown flag --${flag}: ${age}`, inKubeProxy: 'refused' })
    if (value === undefined && rest[0]?.startsWith('-') === false) rest.shift()
  }
  return { known, refusals }
}

/** Checked as a whole, so there is no one field to name. */
export function refusedValue(problem: string, inKubeProxy: InKubeProxy): Refusal {
  return { name: 'refused value', problem, inKubeProxy }
}

/** Leniently, as kube-proxy reads it: what cannot be decoded is told elsewhere. */
function optionsInFile(text: string): readonly SetOption[] {
  const root: unknown = parseDocument(text, { version: '1.1', uniqueKeys: false, prettyErrors: false }).toJS()
  return leaves(root, '').map(([field, value]) => ({ name: field, field, flag: undefined, value }))
}

/** These hold values, not further fields. */
const maps: ReadonlySet<string> = new Set(['featureGates'])

function leaves(value: unknown, path: string): readonly (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || maps.has(path))
    return path === '' || (isUnset(value) && value !== false && value !== 0) ? [] : [[path, value]]
  return Object.entries(value).flatMap(([name, inner]) => leaves(inner, path === '' ? name : `${path}.${name}`))
}

function problemsOf(config: UncheckedConfig, platform: NodeJS.Platform): readonly Refusal[] {
  const complete = withPlatformDefaults(config, platform)
  const checked = validateConfig(complete, platform)
  const [problems, oursAlone] = checked.ok ? [[], []] : [checked.problems, checked.oursAlone]
  return [...featureGateProblems(complete.featureGates), ...problems].map((problem) =>
    refusedValue(problem, oursAlone.includes(problem) ? 'accepted' : 'refused'),
  )
}
