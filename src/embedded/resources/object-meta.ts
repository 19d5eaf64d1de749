/** Checks of the metadata that every kind has. */
import type { ApiObject, FieldError } from '../resource.ts'
import { forbidden, invalid, required, tooLong } from './field-errors.ts'
import { wrongDns1123Label, wrongLabelValue, wrongQualifiedName } from './names.ts'

const maximumAnnotationBytes = 256 * 1024

export type NameRule = (name: string) => string | undefined

export function metadataErrors(object: ApiObject, isNamespaced: boolean, wrongName: NameRule): FieldError[] {
  const { name, namespace, labels = {}, annotations = {}, finalizers = [] } = object.metadata
  const errors: FieldError[] = []
  if (name === undefined || name === '') errors.push(required('metadata.name', 'name or generateName is required'))
  else {
    const wrong = wrongName(name)
    if (wrong !== undefined) errors.push(invalid('metadata.name', name, wrong))
  }
  if (isNamespaced) {
    const wrong = wrongDns1123Label(namespace ?? '')
    if (namespace === undefined || namespace === '') errors.push(required('metadata.namespace'))
    else if (wrong !== undefined) errors.push(invalid('metadata.namespace', namespace, wrong))
  } else if (namespace !== undefined && namespace !== '')
    errors.push(forbidden('metadata.namespace', 'not allowed on this type'))
  errors.push(...labelErrors(labels, 'metadata.labels'), ...annotationErrors(annotations))
  for (const [index, finalizer] of (finalizers as readonly string[]).entries()) {
    const wrong = wrongQualifiedName(finalizer)
    if (wrong !== undefined) errors.push(invalid(`metadata.finalizers[${index}]`, finalizer, wrong))
  }
  return errors
}

/** A Service's selector has the same rules. */
export function labelErrors(labels: Readonly<Record<string, string>>, field: string): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const wrongKey = wrongQualifiedName(key)
    const wrongValue = wrongLabelValue(value)
    return [
      ...(wrongKey === undefined ? [] : [invalid(field, key, wrongKey)]),
      ...(wrongValue === undefined ? [] : [invalid(field, value, wrongValue)]),
    ]
  })
}

function annotationErrors(annotations: Readonly<Record<string, string>>): FieldError[] {
  const errors: FieldError[] = []
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) {
    // Annotation keys may have prefixes in upper case; label keys may not.
    const wrong = wrongQualifiedName(key.toLowerCase())
    if (wrong !== undefined) errors.push(invalid('metadata.annotations', key, wrong))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
  }
  if (bytes > maximumAnnotationBytes) errors.push(tooLong('metadata.annotations', maximumAnnotationBytes))
  return errors
}
