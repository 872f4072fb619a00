/** Those who do something with a cluster that Platen is installed in, and what each of them may do and may not. */
import type { PERSONAS } from '../../topology/cluster/kube.ts'

/** The namespaces of two teams. Their people have their rights in the first of them. */
export const [TEAM, OTHERS] = ['team-acme', 'team-globex']

type Rights = Readonly<Record<keyof typeof PERSONAS, Readonly<Record<string, string>>>>

/** What each may do: a resource, with the namespace where it is not the team's, and verbs (`clear` = delete all of them). */
export const MAY: Rights = {
  operator: {
    plans: 'list watch',
    'plans/status': 'patch',
    tenants: 'list watch patch',
    'tenants/status': 'patch apply',
    'templates everywhere': 'list watch',
    'templates/status': 'patch',
    'apikeys everywhere': 'list watch',
    apikeys: 'patch',
    'apikeys/status': 'apply',
    'erasures everywhere': 'list watch',
    erasures: 'delete',
    'erasures/status': 'patch',
    secrets: 'get create apply patch',
    'secrets in platen': 'create',
    configmaps: 'get',
    'configmaps everywhere': 'list watch',
    events: 'create',
    'events in default': 'create',
    'leases in platen': 'get create update',
  },
  'platform admin': {
    plans: 'get list watch create update patch apply delete clear',
    tenants: 'get list create update patch delete clear',
    erasures: 'get list watch create delete clear',
  },
  'tenant editor': {
    templates: 'get list watch create update patch apply delete clear',
    apikeys: 'get list watch create update patch delete',
  },
  'tenant viewer': { templates: 'get list watch', apikeys: 'get list watch' },
  'API pod': {},
}

/** What each may not do. */
export const MAY_NOT: Rights = {
  operator: {
    'secrets in team-globex': 'get create patch',
    'secrets in default': 'get',
    secrets: 'list watch update delete clear',
    'secrets everywhere': 'list watch',
    'secrets in platen': 'list',
    plans: 'get create patch',
    tenants: 'delete update',
    templates: 'create patch delete',
    apikeys: 'create delete',
    'apikeys/status': 'update',
    erasures: 'create patch',
    configmaps: 'create patch delete',
    'events everywhere': 'list',
    events: 'patch delete',
    leases: 'get create',
    'leases in platen': 'delete list',
    rolebindings: 'create',
    clusterroles: 'list patch',
    'pods everywhere': 'list',
    pods: 'create',
  },
  'platform admin': {
    'plans/status': 'patch',
    'tenants/status': 'patch',
    'erasures/status': 'patch',
    templates: 'get create',
    'templates everywhere': 'list',
    'apikeys everywhere': 'list',
    apikeys: 'create',
    secrets: 'get',
    clusterroles: 'patch',
  },
  'tenant editor': {
    plans: 'get list create patch',
    erasures: 'get list create delete',
    tenants: 'get list create patch delete',
    'tenants/status': 'patch',
    'templates/status': 'patch apply',
    'apikeys/status': 'patch update',
    'templates in team-globex': 'get create',
    'apikeys in team-globex': 'patch',
    'secrets in team-globex': 'get',
    'secrets in platen': 'get',
    'templates everywhere': 'list',
    'apikeys everywhere': 'list',
    'leases in platen': 'get',
    rolebindings: 'create',
  },
  'tenant viewer': {
    templates: 'create update patch apply delete clear',
    'templates/status': 'patch',
    apikeys: 'create update patch delete clear',
    plans: 'get',
    erasures: 'get list create',
    tenants: 'list',
    secrets: 'get',
    'templates in team-globex': 'get',
    'apikeys everywhere': 'list',
  },
  'API pod': {
    plans: 'list',
    tenants: 'get',
    'templates everywhere': 'list',
    'apikeys everywhere': 'list',
    'secrets in platen': 'get',
    'configmaps in platen': 'get',
    'leases in platen': 'get',
    'events in platen': 'create',
  },
}
