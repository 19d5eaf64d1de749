import type { TableColumn } from '../resource.ts'

export const nameColumn: TableColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object, unique within its namespace.',
  priority: 0,
}

export const ageColumn = column('Age', 'Time since the object was created.')

export function column(name: string, description: string, priority: 0 | 1 = 0): TableColumn {
  return { name, type: 'string', description, priority }
}
