// From the texts of the page to an AdmissionRequest, as the API server makes it, and from two objects to their difference.
'use strict';

/* exported readObjects, readSet, admissionRequest, cluster, difference */
/* global jsyaml */

const copy = (value) => JSON.parse(JSON.stringify(value));
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

/** All objects of a text: YAML documents, JSON, lists of Kubernetes. */
function readObjects(text, where) {
  let documents;
  try {
    documents = jsyaml.loadAll(text, { schema: jsyaml.CORE_SCHEMA });
  } catch (error) {
    throw new Error(`${where}: neither YAML nor JSON: ${error.message}`);
  }
  const all = documents.flat().flatMap((one) => (isObject(one) && Array.isArray(one.items) ? one.items : [one]));
  const objects = all.filter((one) => one !== null && one !== undefined);
  if (!objects.every(isObject)) throw new Error(`${where}: expected objects of Kubernetes, but found ${typeof objects.find((one) => !isObject(one))}`);
  return objects;
}

/** The one StatefulSet of a text, or null if the text is empty. */
function readSet(text, where) {
  const objects = readObjects(text, where);
  if (objects.length === 0) return null;
  if (objects.length > 1) throw new Error(`${where}: expected one StatefulSet, but found ${objects.length} objects`);
  const [set] = objects;
  if (set.kind !== 'StatefulSet' || set.apiVersion !== 'apps/v1') {
    throw new Error(`${where}: expected a StatefulSet of apps/v1, but found ${set.kind || 'no kind'} of ${set.apiVersion || 'no apiVersion'}`);
  }
  if (!isObject(set.metadata) || !set.metadata.name) throw new Error(`${where}: expected metadata.name, but found none`);
  if (!isObject(set.spec)) throw new Error(`${where}: expected spec, but found none`);
  return set;
}

/** What the API server adds to each template. */
function defaulted(set) {
  const whole = copy(set);
  for (const template of whole.spec.volumeClaimTemplates || []) {
    if (!isObject(template)) continue;
    template.apiVersion ??= 'v1';
    template.kind ??= 'PersistentVolumeClaim';
    if (isObject(template.spec)) template.spec.volumeMode ??= 'Filesystem';
    template.status ??= { phase: 'Pending' };
  }
  return whole;
}

function merged(live, change) {
  if (!isObject(live) || !isObject(change)) return copy(change);
  const whole = copy(live);
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete whole[key];
    else whole[key] = merged(live[key], value);
  }
  return whole;
}

/** A manifest, applied to the live object: labels, annotations and spec are merged, lists are replaced. */
function applied(live, manifest) {
  const whole = copy(live);
  for (const key of ['labels', 'annotations']) {
    if (manifest.metadata[key]) whole.metadata[key] = merged(whole.metadata[key], manifest.metadata[key]);
  }
  whole.spec = merged(live.spec, manifest.spec);
  return whole;
}

/** The AdmissionRequest: UPDATE, or CREATE without a live StatefulSet. */
function admissionRequest(live, fresh, { user, manager, merge }) {
  if (live && live.metadata.name !== fresh.metadata.name) {
    throw new Error(`the names differ: the live StatefulSet is ${live.metadata.name}, the new one ${fresh.metadata.name}`);
  }
  const namespace = (live || fresh).metadata.namespace || fresh.metadata.namespace || 'default';
  if (live && (fresh.metadata.namespace || namespace) !== namespace) {
    throw new Error(`the namespaces differ: the live StatefulSet is in ${namespace}, the new one in ${fresh.metadata.namespace}`);
  }
  const stored = (set, uid) => {
    const whole = defaulted(set);
    whole.metadata = { uid, ...whole.metadata, namespace };
    return whole;
  };
  const uid = (live && live.metadata.uid) || fresh.metadata.uid || '00000000-0000-4000-8000-000000000000';
  const old = live && stored(live, uid);
  const object = stored(old && merge ? applied(old, fresh) : fresh, uid);
  const resource = { group: 'apps', version: 'v1', resource: 'statefulsets' };
  const kind = { group: 'apps', version: 'v1', kind: 'StatefulSet' };
  return {
    uid: '00000000-0000-4000-8000-000000000001', kind, resource, requestKind: kind, requestResource: resource,
    name: fresh.metadata.name, namespace, operation: live ? 'UPDATE' : 'CREATE',
    userInfo: { username: user, groups: ['system:authenticated'] }, object, oldObject: old || null, dryRun: false,
    options: { apiVersion: 'meta.k8s.io/v1', kind: live ? 'UpdateOptions' : 'CreateOptions', fieldManager: manager },
  };
}

/** Answers what the policy asks from a list of objects, and notes it. */
function cluster(objects, namespace, mayPatch, asked) {
  return (operation, request) => {
    if (operation === 'can_i') {
      const { user, resource_attributes: right } = request.subject_access_review;
      const what = `${right.verb} ${right.resource}${right.subresource ? `/${right.subresource}` : ''}`;
      asked.push(`may ${user} ${what} in ${right.namespace}? ${mayPatch ? 'yes' : 'no'}`);
      return { allowed: mayPatch };
    }
    if (operation !== 'get_resource') throw new Error(`this page does not answer ${operation}`);
    const { api_version: apiVersion, kind, name } = request;
    const found = objects.find((object) => object.kind === kind && object.apiVersion === apiVersion
      && object.metadata?.name === name && (!request.namespace || (object.metadata.namespace || namespace) === request.namespace));
    asked.push(`${kind} ${name}: ${found ? 'listed' : 'not found'}`);
    if (found) return request.namespace ? { ...found, metadata: { ...found.metadata, namespace: request.namespace } } : found;
    throw new Error(`Cannot find ${apiVersion}/${kind} named '${name}' inside of namespace '${request.namespace}'`);
  };
}

/** The lines of two texts: [' ' | '-' | '+', line]. Unchanged lines far from a change are one ['…', '']. */
function difference(before, after) {
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  const length = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      length[i][j] = old[i] === fresh[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const lines = [];
  for (let i = 0, j = 0; i < old.length || j < fresh.length;) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) lines.push([' ', old[i++], j++]);
    else if (j >= fresh.length || (i < old.length && length[i + 1][j] >= length[i][j + 1])) lines.push(['-', old[i++]]);
    else lines.push(['+', fresh[j++]]);
  }
  const isNear = (at) => lines.slice(Math.max(0, at - 3), at + 4).some(([sign]) => sign !== ' ');
  const near = lines.map(([sign, line], at) => (isNear(at) ? [sign, line] : ['…', '']));
  return near.filter(([sign], at) => sign !== '…' || (at > 0 && near[at - 1][0] !== '…' && near.slice(at).some(([later]) => later !== '…')));
}
