/** Fields of the configuration file whose change a pod learns only by a restart. */
import { howFieldsChange } from '../../src/config/live/how-fields-change.ts'
import type { FieldEntry, GatesEntry, HowItChanges } from '../../src/config/live/how-fields-change.ts'

interface Section {
  readonly [name: string]: FieldEntry | GatesEntry | Section
}

/** Their paths in the file, sorted. */
export function restartFields(): readonly string[] {
  // Rules, and a setting of the kernel besides (route_localnet).
  return [...fieldsIn(howFieldsChange), 'iptables.localhostNodePorts'].toSorted()
}

function fieldsIn(section: Section): readonly string[] {
  return Object.values(section).flatMap((entry) => {
    if (isField(entry)) return needsRestart(entry.how) ? entry.names : []
    if (!isGates(entry)) return fieldsIn(entry)
    const gates = Object.entries(entry.gates).filter(([, how]) => needsRestart(how))
    return gates.map(([name]) => `featureGates.${name}`)
  })
}

/** Settings of the machine are live where it lets Fairlead write them. In a pod only the init container may. */
function needsRestart(how: HowItChanges): boolean {
  return how.kind === 'restart' || how.effect === 'machine'
}

function isField(entry: FieldEntry | GatesEntry | Section): entry is FieldEntry {
  return 'how' in entry
}

function isGates(entry: FieldEntry | GatesEntry | Section): entry is GatesEntry {
  return 'gates' in entry
}
