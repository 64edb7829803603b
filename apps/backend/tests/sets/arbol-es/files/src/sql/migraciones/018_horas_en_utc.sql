-- Convierte a timestamptz las columnas que guardaban hora local (ADR 0015).
-- La columna antigua se conserva tres meses con el sufijo _local.

ALTER TABLE reservas RENAME COLUMN caduca_en TO caduca_en_local;
ALTER TABLE reservas ADD COLUMN caduca_en timestamptz;
UPDATE reservas SET caduca_en = caduca_en_local AT TIME ZONE 'Europe/Madrid';

ALTER TABLE reservas RENAME COLUMN depositado_en TO depositado_en_local;
ALTER TABLE reservas ADD COLUMN depositado_en timestamptz;
UPDATE reservas r
SET depositado_en = r.depositado_en_local AT TIME ZONE a.huso
FROM armarios a
WHERE a.id = r.armario_id;

ALTER TABLE turnos ADD COLUMN duracion interval;
UPDATE turnos SET duracion = fin - inicio;
ALTER TABLE turnos DROP COLUMN fin;

-- La noche del cambio de hora hay valores ambiguos: se eligió la primera de las dos.
UPDATE lecturas_bascula
SET leida_en = leida_en_local AT TIME ZONE 'Europe/Madrid'
WHERE leida_en IS NULL;

COMMENT ON COLUMN reservas.caduca_en_local IS 'Obsoleta desde la migración 018. Se borra en septiembre de 2024.';
