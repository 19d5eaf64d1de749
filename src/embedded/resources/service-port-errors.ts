import type { FieldError } from '../resource.ts'
import { duplicate, forbidden, invalid, required } from './field-errors.ts'
import { wrongDns1123Label, wrongPortName, wrongQualifiedName } from './names.ts'
import { portNumberErrors, protocolErrors } from './port-errors.ts'
import type { ServicePort, ServiceSpec } from './service-type.ts'
import { isHeadless } from './service-type.ts'

export function servicePortErrors(spec: ServiceSpec): FieldError[] {
  const ports = spec.ports ?? []
  if (ports.length === 0 && !isHeadless(spec) && spec.type !== 'ExternalName') return [required('spec.ports')]
  return [
    ...ports.flatMap((port, index) => onePortErrors(port, `spec.ports[${index}]`, ports.length > 1, isHeadless(spec))),
    ...duplicateErrors(ports),
    ...nodePortErrors(spec),
  ]
}

function onePortErrors(port: ServicePort, path: string, isNameRequired: boolean, isOnHeadless: boolean): FieldError[] {
  const errors: FieldError[] = []
  const { name = '', targetPort, appProtocol } = port
  if (name === '') {
    if (isNameRequired) errors.push(required(`${path}.name`))
  } else {
    const wrong = wrongDns1123Label(name)
    if (wrong !== undefined) errors.push(invalid(`${path}.name`, name, wrong))
  }
  errors.push(...portNumberErrors(`${path}.port`, port.port), ...protocolErrors(`${path}.protocol`, port.protocol))
  if (typeof targetPort === 'string') {
    const wrong = wrongPortName(targetPort)
    if (wrong !== undefined) errors.push(invalid(`${path}.targetPort`, targetPort, wrong))
  } else if (!isOnHeadless) errors.push(...portNumberErrors(`${path}.targetPort`, targetPort))
  if (appProtocol !== undefined) {
    const wrong = wrongQualifiedName(appProtocol)
    if (wrong !== undefined) errors.push(invalid(`${path}.appProtocol`, appProtocol, wrong))
  }
  return errors
}

function duplicateErrors(ports: readonly ServicePort[]): FieldError[] {
  const errors: FieldError[] = []
  const names = new Set<string>()
  const numbers = new Set<string>()
  for (const [index, { name = '', protocol, port }] of ports.entries()) {
    if (name !== '' && names.has(name)) errors.push(duplicate(`spec.ports[${index}].name`, name))
    if (numbers.has(`${protocol} ${port}`)) errors.push(duplicate(`spec.ports[${index}]`, { protocol, port }))
    names.add(name)
    numbers.add(`${protocol} ${port}`)
  }
  return errors
}

function nodePortErrors(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = []
  const seen = new Set<string>()
  const mayHave = spec.type === 'NodePort' || spec.type === 'LoadBalancer'
  for (const [index, { nodePort, protocol }] of (spec.ports ?? []).entries()) {
    if (!nodePort) continue
    const field = `spec.ports[${index}].nodePort`
    if (!mayHave) errors.push(forbidden(field, `may not be used when \`type\` is '${spec.type}'`))
    else if (seen.has(`${protocol} ${nodePort}`)) errors.push(duplicate(field, nodePort))
    seen.add(`${protocol} ${nodePort}`)
  }
  return errors
}
